-- First inpatient stays for heart failure: one row a person, with the outcome and what the model takes.
-- Every value of a row comes from that person's own records.
WITH stay AS (
    SELECT DISTINCT ON (visit.person_id)
        visit.person_id,
        visit.visit_start_date AS admitted
    FROM visit_occurrence AS visit
    JOIN condition_occurrence AS condition
        ON condition.person_id = visit.person_id
        AND condition.condition_start_date BETWEEN visit.visit_start_date AND visit.visit_end_date
        AND condition.condition_concept_id = 316139  -- heart failure
    WHERE visit.visit_concept_id = 9201  -- inpatient
    ORDER BY visit.person_id, visit.visit_start_date
)
SELECT
    extract(year FROM stay.admitted) - person.year_of_birth AS age,
    (person.gender_concept_id = 8532)::int AS female,
    creatinine.value_as_number AS creatinine,
    EXISTS (
        SELECT 1
        FROM condition_occurrence AS earlier
        WHERE earlier.person_id = stay.person_id
            AND earlier.condition_concept_id = 201826  -- type 2 diabetes
            AND earlier.condition_start_date <= stay.admitted
    )::int AS diabetes,
    (death.death_date IS NOT NULL AND death.death_date <= stay.admitted + 30)::int AS died
FROM stay
JOIN person ON person.person_id = stay.person_id
LEFT JOIN death ON death.person_id = stay.person_id
LEFT JOIN LATERAL (
    SELECT measurement.value_as_number
    FROM measurement
    WHERE measurement.person_id = stay.person_id
        AND measurement.measurement_concept_id = 3016723  -- creatinine in serum
        AND measurement.measurement_date BETWEEN stay.admitted - 7 AND stay.admitted + 1
    ORDER BY measurement.measurement_date DESC, measurement.measurement_id DESC
    LIMIT 1
) AS creatinine ON true
