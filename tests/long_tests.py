"""The costliest tests, which `make test` leaves out and `make test-all` runs.

A test with many cases says how many stay: with 8, every eighth case is run by `make test`, so that each claim is
still tried. With `ALL`, no case stays. In `LONG` the test of the same claim that stays is then named beside the entry;
claims in `COSTLY` are tried by `make test-all` alone, and so in continuous integration.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ALL = 0
EVERY = "every test of the module"

LONG: Mapping[str, Mapping[str, int]] = {
    "architecture/test_walks.py": {"test_a_command_loads_the_rooms_of_its_walk": 3},
    "attacks/from_auc/test_decision_tree.py": {"test_all_106_labels_within_71_queries": 3},
    "attacks/test_exposure.py": {
        "test_no_release_is_guessed_beyond_its_bound": 4,
        "test_a_release_with_too_little_noise_is_guessed_beyond_the_bound": ALL,  # attacks/one_row/test_game.py
    },
    "audits/test_audit_statistics.py": {
        "test_every_mechanism_holds_and_the_audit_is_not_blind": 8,
        "test_every_broken_twin_is_caught": 6,
        "test_floats_grids_edges_and_special_cases_are_caught_at_any_epsilon": ALL,  # the twins above
    },
    "benchmarks/test_benchmarks_run.py": {
        "test_a_quick_run_prints_its_table_without_the_shared_data": 12,
        "test_private_curves_are_compared_on_the_papers_texts": ALL,  # the quick runs above
        "test_tables_are_ranked_in_a_process_of_their_own": ALL,  # sources/test_rank_tables_on_every_engine.py
    },
    "benchmarks/test_fedcurve_against_peer.py": {"test_intervals_cover_and_are_no_wider_than_need_be": 4},
    "cli/test_contest_new_privacy.py": {"test_neighbours_give_the_same_transcript": 3},
    "cli/test_contest_demo.py": {
        "test_the_demonstration_ends_with_board_attacks_and_final": ALL,  # client/test_client_against_server.py
        "test_a_demonstration_that_is_stopped_leaves_no_server": ALL,
    },
    "cli/test_federation.py": {
        "test_the_demonstration_with_real_processes": ALL,  # federation/flare/test_modes.py
        "test_a_demonstration_that_is_stopped_leaves_no_process": ALL,  # federation/flare/test_channel.py
    },
    "cli/test_release_curves.py": {"test_with_noise_that_drowns_everything_all_data_look_alike": 3},
    "cli/test_table_transcripts.py": {"test_neighbours_have_one_transcript": 6},
    "cli/test_transcripts.py": {
        "test_neighbours_have_one_transcript": 3,
        "test_neighbours_have_one_transcript_in_a_concentrated_account": 3,
    },
    "cli/test_transcripts_of_workflow.py": {EVERY: 3},
    "contest/test_estimators_coverage.py": {
        "test_intervals_and_differences_cover": 9,
        "test_values_are_unbiased_over_masks": 4,
        "test_intervals_of_auc_hold_their_level_for_rare_positives": ALL,  # the first case of the coverage above
    },
    "contest/test_forms_brute_force.py": {"test_forms_give_scikit_learns_values": 6},
    "contest/test_plan.py": {"test_boards_are_those_of_a_separate_simulation": 2},
    "contest/test_final_coverage.py": {
        "test_shaped_finals_are_unbiased_and_cover": 12,
        "test_differences_of_entries_are_as_sure_as_they_say": 4,
        "test_equally_good_entries_are_ties": 2,
    },
    "client/test_attacks_against_server.py": {EVERY: ALL},  # tasks/test_contest_demo_attacks.py
    "docs/test_documentation_runs.py": {
        "test_commands_run_and_print_what_the_page_shows": 6,
        "test_python_blocks_run": 2,
    },
    "evaluation/test_evaluation_degenerate_rows.py": {"test_every_design_evaluates_rows_of_every_kind": 4},
    "evaluation/test_evaluation_against_libraries.py": {EVERY: 3},
    "federation/test_dropouts.py": {
        "test_with_too_few_left_nothing_is_released_and_asking_again_is_free": 3,
        "test_one_site_may_drop_out_at_any_step": 2,
        "test_two_sites_may_drop_out_one_after_the_other": 4,
    },
    "federation/test_pooled_groups.py": {"test_the_error_of_a_sites_auc_has_what_groups_hide_in_it": 4},
    "federation/test_protocol.py": {"test_a_site_that_sends_garbage_ends_the_run_and_is_named": 3},
    "federation/test_site_databases.py": {"test_no_value_of_a_feature_keeps_a_site_from_answering": 5},
    "federation/test_dropout_site_rules.py": {
        "test_an_approval_that_is_taken_back_ends_every_later_step": 2,
        "test_nothing_is_charged_shared_or_registered_before_the_approval": 2,
    },
    "federation/flare/test_approval.py": {EVERY: ALL},  # federation/test_approvals.py
    "federation/flare/test_dishonest_server.py": {EVERY: ALL},  # federation/test_server_attacks.py
    "federation/flare/test_dropouts_of_processes.py": {EVERY: ALL},  # federation/test_dropouts.py
    "federation/flare/test_kits_killed.py": {EVERY: 4},
    "federation/flare/test_balancers.py": {EVERY: ALL},  # federation/flare/test_modes.py
    "federation/flare/test_killed.py": {"test_a_killed_command_leaves_no_engine": 2},
    "federation/flare/test_provision_killed.py": {
        "test_the_same_call_begins_anew_and_removes_all_keys_of_a_killed_one": ALL,  # the real processes there
    },
    "federation/flare/test_faults.py": {EVERY: ALL},  # federation/test_protocol.py
    "federation/flare/test_series.py": {EVERY: ALL},  # cli/test_validate_series.py
    "federation/flare/test_slow_run.py": {EVERY: ALL},  # federation/test_protocol.py
    "federation/flare/test_hostile.py": {EVERY: ALL},  # federation/test_server_attacks.py, flare/test_hardening.py
    "intervals/test_bootstrap_coverage.py": {"test_intervals_of_every_metric_cover": 2},
    "intervals/test_closed_form_coverage.py": {EVERY: 3},
    "intervals/test_clusters_coverage.py": {EVERY: 2},
    "intervals/test_intervals_coverage.py": {
        "test_joint_test_and_simultaneous_intervals_hold_their_level": ALL,  # test_simultaneous_against_tukey.py
    },
    "intervals/test_sample_size_power.py": {EVERY: 2},
    "intervals/test_private_curves_coverage.py": {
        "test_whole_curves_and_numbers_are_held": 6,
        "test_all_points_lie_in_the_region_at_once": 4,
    },
    "kernels/test_bootstrap_against_sklearn.py": {"test_replicates_have_the_bootstrap_distribution": 4},
    "kernels/test_rows_against_numpy.py": {
        "test_rows_against_numpy_and_scikit_learn": 6,
        "test_many_rows_against_numpy": 4,
    },
    "ledger/test_ledger_crashes.py": {
        "test_five_hundred_kills_lose_nothing": ALL,  # test_processes_killed_over_one_request_... and in PostgreSQL
    },
    "ledger/test_ledger_places.py": {"test_flipped_bits_never_refund": ALL},  # ledger/test_ledger_tampering.py
    "metrics/test_metrics_follow_the_rows.py": {EVERY: 3},
    "metrics/test_metrics_and_exchanged_classes.py": {"test_turned_around": 3},
    "privacy/test_free_class_sizes_by_enumeration.py": {
        "test_both_numbers_of_more_rows_lose_no_more": ALL,  # the same with fewer rows
        "test_both_numbers_lose_no_more_than_one": 3,
    },
    "privacy/test_choice_distribution.py": {"test_choices": 4, "test_a_rate_wrong_by_a_sixth_is_refused": 3},
    "privacy/test_local_average_precision_by_enumeration.py": {"test_no_pair_of_more_rows_loses_more": 6},
    "privacy/test_sensitivity_by_brute_force.py": {EVERY: 3},
    "releases/test_curve_auc_near_perfect.py": {
        "test_the_population_interval_covers_a_nearly_perfect_auc": 2,
    },
    "releases/test_curves_contract.py": {EVERY: 3},
    "releases/test_one_class_is_private.py": {EVERY: 3},
    "releases/test_plan_keeps_promises.py": {
        "test_the_error_is_the_promised_one": 6,
        "test_the_widths_are_the_promised_ones": 6,
        "test_the_epsilon_needed_gives_the_width": 7,
        "test_more_epsilon_and_more_rows_never_widen": 5,
        "test_every_metric_has_a_plan": 4,
    },
    "releases/test_registry_contract.py": {EVERY: 3},
    "releases/test_release_intervals_coverage.py": {
        "test_intervals_cover_the_sample_s_value_and_the_population_s": 6,
    },
    "report/test_evaluation_figures.py": {"test_nothing_leaves_the_figure": 4},
    "report/test_notebook_figures.py": {"test_each_cell_shows_one_figure_and_settings_stay": 6},
    "service/test_access_by_role.py": {EVERY: 2},  # the others on PostgreSQL
    "service/test_api_fits_its_description.py": {"test_drawn_requests_get_what_is_described": 2},
    "service/test_kills_lose_nothing.py": {"test_kills_on_postgresql": ALL},  # the same on SQLite
    "service/test_organisers_run_contests.py": {EVERY: 2},
    "service/test_submissions_over_http.py": {
        "test_probabilities_come_with_calibration": 2,
        "test_lists_continue_where_they_ended": 2,
        "test_the_board_shows_the_best_of_each_and_is_at_most_two_seconds_old": 2,
    },
    "service/test_pages_in_chromium.py": {
        "test_a_contest_from_the_first_token_to_the_end": 2,
        "test_the_script_shows_progress_and_keeps_the_page": ALL,  # the contest above
        "test_the_watch_sees_what_breaks_the_policy": ALL,  # service/test_pages_keep_out.py
        "test_a_foreign_page_cannot_act_for_a_member": ALL,  # service/test_pages_keep_out.py
        "test_pages_are_accessible": 4,
        "test_the_checks_see_what_is_wrong": ALL,  # the pages above
    },
    "sources/test_bad_rows.py": {EVERY: 3},
    "sources/test_plain_files_as_tables.py": {"test_counts_are_those_of_the_engine_or_left_to_it": 4},
    "sources/test_rank_tables_on_every_engine.py": {
        "test_sums_are_those_of_numpy": 3,
        "test_points_are_small_and_lie_on_the_curve": 2,
        "test_a_whole_evaluation": 2,
    },
    "sources/test_sources_count_alike.py": {EVERY: 3},
    "sources/test_spark_tables.py": {
        "test_no_value_of_a_row_is_in_the_log": ALL,  # sources/test_spark_tables.py::test_errors_of_spark_are_discreet
    },
    "sources/test_streamed_sums_by_ranges.py": {"test_sums_and_points_are_those_of_numpy": 3},
    "studies/test_boyd_private.py": {"test_a_tiny_study_is_whole": ALL},  # studies/test_whitehill.py: the same frame
    "studies/test_index.py": {
        "test_quick_runs_have_the_pages_claims_and_do_not_contradict_them": ALL,  # each study's own small run
    },
    "studies/test_schalk.py": {
        "test_threads_change_nothing": ALL,  # studies/test_trials.py
        "test_table_1_comes_out": ALL,  # studies/test_schalk_kernels.py
    },
    "tasks/test_new_site_killed.py": {
        "test_the_same_call_finishes_what_a_killed_one_began": ALL,  # the real processes there
    },
    "tasks/test_release_checks.py": {EVERY: 3},
}

COSTLY: Mapping[str, Mapping[str, int]] = {
    "attacks/from_auc/test_labelings.py": {"test_everything_against_trying_all": ALL},
    "attacks/one_row/test_game.py": {"test_the_adversary_is_the_likelihood_ratio_test": ALL},
    "attacks/test_scores_of_one_row.py": {
        "test_at_a_site_one_row_more_or_less_changes_one_count": 3,
        "test_at_a_site_order_and_repetition_change_no_score": 3,
    },
    "audits/test_logistic_targets_statistics.py": {
        "test_what_is_proven_is_not_refuted": 3,
        "test_what_is_broken_is_caught": 3,
    },
    "benchmarks/test_benchmarks_run.py": {"test_a_quick_run_works_with_real_processes": ALL},
    "cli/test_attack.py": {"test_the_long_form_and_standard_input": ALL},
    "cli/test_contest_advice.py": {
        "test_a_final_is_checked_with_the_server_before_it_is_charged": ALL,
        "test_closing_asks_on_a_terminal_unless_told_otherwise": ALL,
    },
    "cli/test_contest_server.py": {"test_a_home_is_copied_and_put_back": ALL},
    "cli/test_evaluate.py": {"test_weighted_means_that_weights_were_given": ALL},
    "cli/test_evaluate_options.py": {
        "test_an_option_equals_its_argument": 4,
        "test_options_change_the_answer": ALL,
        "test_figures_and_tables_are_written": ALL,
    },
    "cli/test_exit_codes.py": {"test_exit_codes_mean_the_same_everywhere": 4},
    "cli/test_gaussian_noise.py": {
        "test_a_plan_compares_it_with_laplace_noise": ALL,
        "test_a_person_reads_it_and_the_ledger_counts_rho": ALL,
    },
    "cli/test_lightness.py": {
        "test_import_and_help_load_nothing_heavy": 4,
        "test_a_release_draws_no_pictures_unless_asked": ALL,
    },
    "cli/test_release_curves.py": {
        "test_grids_that_are_found": 3,
        "test_another_table_costs_again": 3,
        "test_the_number_of_rows_looks_alike_under_add_remove_one": ALL,
    },
    "cli/test_release_curves_page.py": {"test_a_page_holds_every_curve_as_a_picture_with_real_text": 3},
    "cli/test_release_privacy.py": {"test_standard_input_is_the_same_data_and_the_same_account": ALL},
    "cli/test_site_init.py": {"test_a_federation_that_is_made_anew_keeps_what_sites_are_and_spent": ALL},
    "cli/test_table_transcripts.py": {"test_grids_are_counted_inside_the_engine": ALL},
    "cli/test_validate_series.py": {
        "test_the_promise_and_the_sum_spent_are_on_the_page_in_the_text_and_in_json": ALL,
        "test_a_dry_run_names_the_period_and_the_price_of_a_year": 3,
    },
    "cli/test_workflow.py": {"test_training_loads_neither_scikit_learn_nor_pictures": ALL},
    "cli/test_workflow_hand_made_models.py": {"test_a_model_of_other_types_is_refused_alike": 4},
    "cli/test_workflow_privacy.py": {"test_training_does_not_read_held_out_rows": ALL, "test_all_steps": ALL},
    "client/test_client_against_server.py": {"test_the_server_compiles_nothing": ALL},
    "client/test_refusals_in_own_words.py": {"test_no_kind_speaks_of_http": 4},
    "contest/test_final_coverage.py": {"test_differences_with_half_of_the_noise_are_refused": ALL},
    "contest/test_final_results.py": {"test_no_labels_and_no_noise_make_a_final_fail": 4},
    "curves/test_smoothers_cells.py": {"test_loess": ALL},
    "curves/test_smoothing_statistics.py": {"test_the_pointwise_band_covers": ALL, "test_half_the_band_does_not": ALL},
    "docs/test_documentation_formulas.py": {"test_every_formula_became_mathml": ALL},
    "evaluation/test_cautions.py": {"test_bands_are_doubted_only_where_they_are_drawn": ALL},
    "evaluation/test_evaluation_designs.py": {"test_independent_rows_are_estimates": 3},
    "evaluation/test_evaluation_repeats.py": {
        "test_the_order_of_rows_does_not_matter": 3,
        "test_the_same_call_gives_the_same_json": 3,
    },
    "federation/flare/test_hardening.py": {"test_the_server_refuses_code_that_is_shipped_with_a_run": ALL},
    "federation/flare/test_provision.py": {"test_a_certificate_for_the_right_key_must_be_valid_and_of_the_root": 3},
    "federation/flare/test_signing_requests.py": {"test_a_renewal_that_is_killed_can_be_repeated": ALL},
    "federation/test_dropout_attacks.py": {"test_no_shorter_list_after_the_whole_one": ALL},
    "federation/test_dropout_site_rules.py": {"test_an_answer_that_nobody_read_is_charged_once_and_counts_once": ALL},
    "federation/test_dropouts.py": {"test_a_site_that_comes_back_is_in_no_second_sum_of_the_same_question": ALL},
    "federation/test_gaussian_answers.py": {"test_sites_may_drop_out_and_their_shares_are_not_missed": ALL},
    "federation/test_oracles.py": {"test_what_is_wrong_with_the_sites_own_files_is_for_its_log": 3},
    "federation/test_protocol.py": {"test_exact_answers_that_could_be_subtracted_are_refused": 3},
    "federation/test_server_attacks.py": {
        "test_an_honest_coordinator_hears_in_round_1_with_whom_sites_answered": ALL,
        "test_two_names_may_share_one_entry": ALL,
    },
    "federation/test_site_databases.py": {
        "test_no_query_runs_before_a_person_approves": 3,
        "test_a_private_answer_is_drawn_once_for_a_table": ALL,
    },
    "federation/test_sums_beside_groups.py": {"test_rounded_sums_hide_small_cells_of_small_sites": 3},
    "intervals/test_bootstrap_coverage.py": {"test_intervals_with_a_fixed_prevalence_are_refused": 3},
    "intervals/test_intervals_coverage.py": {"test_logit_interval_covers_aucpr_and_the_bootstrap_does_not": ALL},
    "intervals/test_private_counts_coverage.py": {"test_every_count_is_covered": ALL},
    "intervals/test_private_limits_by_bisection.py": {"test_limits_are_those_of_bisection": 4},
    "intervals/test_resample_against_scipy.py": {
        "test_replicates_are_distributed_as_a_plain_loop": 3,
        "test_values_of_all_replicates_are_those_of_each": 3,
    },
    "ledger/test_ledger_identity.py": {"test_every_answer_to_one_request_is_stored_at_one_length": ALL},
    "ledger/test_ledger_size.py": {"test_a_release_costs_the_same_after_many_others": ALL},
    "ledger/test_ledger_tampering.py": {
        "test_every_changed_cell_is_found_and_blocks": ALL,
        "test_entries_cannot_be_moved_added_or_removed": 4,
    },
    "metrics/test_metrics_and_transformed_scores.py": {
        "test_increasing_transformations_change_nothing": 4,
        "test_other_metrics_take_any_finite_scores": 4,
    },
    "metrics/test_metrics_at_edges.py": {"test_perfect_scores_have_exact_intervals": 3},
    "metrics/test_metrics_stay_in_bounds.py": {"test_bounds": 4},
    "privacy/test_local_auc_by_enumeration.py": {"test_no_pair_of_more_rows_loses_more": 4},
    "privacy/test_local_average_precision_by_enumeration.py": {"test_no_pair_of_neighbours_loses_more": 3},
    "privacy/test_noise_against_mpmath.py": {"test_thousands_of_draws_equal_1500_bit_arithmetic": 3},
    "privacy/test_noise_distribution.py": {"test_student_t_on_grid": 3, "test_pareto_noise": ALL},
    "privacy/test_selection_distribution.py": {"test_choices_in_turn": 4},
    "privacy/test_strategies_by_brute_force.py": {"test_no_two_neighbours_lose_more_than_epsilon_or_rho": 4},
    "releases/test_operating_points.py": {"test_safe_thresholds_really_reach_the_target": ALL},
    "releases/test_plan_keeps_promises.py": {"test_every_relation_has_a_plan": 4},
    "releases/test_release_intervals_coverage.py": {"test_the_level_is_meant": ALL},
    "releases/test_release_levels.py": {"test_a_fine_grid_fits_into_the_room_that_the_ledger_keeps_for_it": ALL},
    "releases/test_shared_counts_coverage.py": {
        "test_intervals_cover": ALL,
        "test_intervals_cover_under_gaussian_shares": ALL,
    },
    "report/test_evaluation_figures.py": {
        "test_points_and_names_of_a_forest_keep_apart": 3,
        "test_identifiers_in_a_figure_do_not_clash": 3,
        "test_the_overview_of_many_models_has_all_panels": ALL,
    },
    "report/test_evaluation_page.py": {
        "test_page_is_well_formed_and_needs_nothing_else": ALL,
        "test_page_is_the_same_each_time_and_not_large": ALL,
        "test_million_rows_do_not_make_a_large_page": ALL,
    },
    "report/test_figure_files.py": {
        "test_every_figure_has_every_format": ALL,
        "test_the_same_evaluation_gives_the_same_bytes": ALL,
    },
    "report/test_release_page.py": {
        "test_the_demonstration_tells_the_whole_story_and_costs_nothing_the_second_time": ALL,
    },
    "report/test_validation_forest.py": {"test_sites_own_results_and_their_summary_are_shown": ALL},
    "report/test_validation_plots.py": {"test_everything_is_inside_its_picture": 3},
    "service/test_answers_that_are_paid.py": {"test_each_answer_is_charged_once_and_the_budget_ends_it": ALL},
    "service/test_labels_are_nowhere.py": {"test_every_form_is_found_where_it_is": ALL},
    "service/test_records_are_sealed.py": {
        "test_untouched_records_are_whole": ALL,
        "test_a_backup_of_a_running_server_is_whole_and_can_be_served": ALL,
        "test_one_home_has_one_server_and_one_bundle_a_name": ALL,
    },
    "service/test_server_under_pressure.py": {
        "test_a_full_queue_refuses_and_says_when_to_return": ALL,
        "test_a_server_that_is_told_to_stop_finishes_what_it_began": ALL,
        "test_an_unexpected_error_shows_nothing": ALL,
    },
    "sources/test_encoded_rows.py": {"test_the_order_of_rows_is_kept": 3},
    "sources/test_files_in_little_memory.py": {"test_counting_within_limited_memory": 3},
    "sources/test_hints.py": {"test_only_exact_evaluations_import_hints": ALL},
    "sources/test_named_csv_against_duckdb.py": {"test_types_and_values_are_those_of_the_whole_file": 4},
    "sources/test_open_tables.py": {"test_the_digest_is_that_of_the_rows_alone": ALL},
    "sources/test_streamed_sums_by_ranges.py": {"test_any_rows_in_cells_of_any_size": ALL},
    "studies/test_boyd_pr.py": {"test_the_command_makes_every_figure": ALL},
    "studies/test_boyd_private.py": {
        "test_limits_of_ours_are_shown_beside_others": ALL,
        "test_pieces_can_be_repeated_and_resumed": ALL,
    },
    "studies/test_schalk.py": {
        "test_the_lowest_bins_owe_their_means_to_the_direction": ALL,
        "test_what_decides_comes_out_even_with_few_studies": ALL,
        "test_the_command_writes_json_and_a_report": ALL,
    },
    "studies/test_study.py": {"test_the_page_opens_offline_and_names_what_is_not_private": ALL},
    "studies/test_whitehill.py": {
        "test_the_conjecture_is_refuted_by_trying_all_labels": ALL,
        "test_the_papers_tables_come_out": ALL,
    },
    "tasks/test_evaluate_sources.py": {"test_every_table_gives_the_same_numbers": 4},
    "tasks/test_validate_as_command.py": {
        "test_a_private_validation_is_charged_once_to_whoever_asks_again": ALL,
        "test_a_plan_is_that_of_a_dry_run_and_asks_nobody": ALL,
    },
    "values/test_blocks_against_whole_arrays.py": {"test_metrics_do_not_depend_on_blocks": 4},
}
"""Tests that take seconds each. Together they would make `make test` a third longer."""

POSTGRESQL = 4
"""Of the tests of ledgers on a PostgreSQL server, every fourth stays: all of them run on SQLite."""


def mark_long(items: Iterable[pytest.Item]) -> None:
    """Mark the tests of the list."""
    met: Counter[tuple[Path, str]] = Counter()
    for item in items:
        test, stays = _stays(item)
        if stays is None:
            continue
        if stays == ALL or met[item.path, test] % stays:
            item.add_marker(pytest.mark.long)
        met[item.path, test] += 1


def _stays(item: pytest.Item) -> tuple[str, int | None]:
    """Return a test's name, and of how many of its cases one stays; None if all do."""
    file = item.path.relative_to(HERE).as_posix() if item.path.is_relative_to(HERE) else ""
    test = getattr(item, "originalname", item.name)
    tests = {**COSTLY.get(file, {}), **LONG.get(file, {})}
    if test in tests or EVERY in tests:
        return test, tests.get(test, tests.get(EVERY))
    if file.startswith("ledger/") and item.get_closest_marker("postgresql"):
        return "postgresql", POSTGRESQL
    return test, None
