"""The costliest tests, which `make test` leaves out and `make test-all` runs.

A test with many cases says how many stay: with 8, every eighth case is run by `make test`, so that each claim is
still tried. With `ALL`, another test of the same claim stays; it is named beside the entry. `costs` then leaves out
more by what tests were measured to take. Claims of single costly tests are tried by `make test-all` alone, and so in
continuous integration.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from tests.costs import ALL, costs

HERE = Path(__file__).parent
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
        "test_the_demonstration_ends_with_board_attacks_and_final": ALL,  # contest/client/test_client_against_server.py
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
    "contest/client/test_attacks_against_server.py": {EVERY: ALL},  # tasks/test_contest_demo_attacks.py
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
    "ledger/test_ledger_places.py": {"test_flipped_bits_never_refund": ALL},  # records/test_contract.py
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
    "contest/server/test_access_by_role.py": {EVERY: 2},  # the others on PostgreSQL
    "contest/server/test_api_fits_its_description.py": {"test_drawn_requests_get_what_is_described": 2},
    "contest/server/test_kills_lose_nothing.py": {"test_kills_on_postgresql": ALL},  # the same on SQLite
    "contest/server/test_organisers_run_contests.py": {EVERY: 2},
    "contest/server/test_submissions_over_http.py": {
        "test_probabilities_come_with_calibration": 2,
        "test_lists_continue_where_they_ended": 2,
        "test_the_board_shows_the_best_of_each_and_is_at_most_two_seconds_old": 2,
    },
    "contest/server/test_pages_in_chromium.py": {
        "test_a_contest_from_the_first_token_to_the_end": 2,
        "test_the_script_shows_progress_and_keeps_the_page": ALL,  # the contest above
        "test_the_watch_sees_what_breaks_the_policy": ALL,  # contest/server/test_pages_keep_out.py
        "test_a_foreign_page_cannot_act_for_a_member": ALL,  # contest/server/test_pages_keep_out.py
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

PROMISES = frozenset(
    {
        "test_neighbours_have_one_transcript",
        "test_neighbours_have_one_transcript_in_a_concentrated_account",
        "test_processes_cannot_overspend",
        "test_secure_sum_is_that_of_the_pooled_rows_and_nothing_is_printed",
        "test_true_labels_are_nowhere_and_the_search_would_find_them",
        "test_each_period_is_asked_once_and_the_page_shows_all",
        "test_a_contest_from_the_first_token_to_the_end",
        "test_commands_run_and_print_what_the_page_shows",
    }
)
"""Costly tests of promises to users, of which one case always stays."""

POSTGRESQL = 4
"""Of the tests of ledgers on a PostgreSQL server, every fourth stays: all of them run on SQLite."""


def mark_long(items: Iterable[pytest.Item]) -> None:
    """Mark the tests of the list, and costly ones."""
    met: Counter[tuple[Path, str]] = Counter()
    for item in items:
        test, stride = _stride(item)
        if stride == ALL or met[item.path, test] % stride:
            item.add_marker(pytest.mark.long)
        met[item.path, test] += 1


def _stride(item: pytest.Item) -> tuple[str, int]:
    """Return a test's name, and of how many of its cases one stays."""
    file = item.path.relative_to(HERE).as_posix() if item.path.is_relative_to(HERE) else ""
    test = getattr(item, "originalname", item.name)
    tests, cost = LONG.get(file, {}), costs().get((file, test))
    listed = tests.get(test, tests.get(EVERY, 1))
    if (
        test not in tests
        and EVERY not in tests
        and file.startswith("ledger/")
        and item.get_closest_marker("postgresql")
    ):
        return "postgresql", POSTGRESQL
    if cost is None:
        return test, listed
    return test, listed * (cost.stride or (cost.cases if test in PROMISES else ALL))
