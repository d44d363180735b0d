use anyhow::bail;

use super::cargo_test::count;
use super::{QUICK, Step, TEST, Tally, choose, run};

#[test]
fn the_results_of_libtest_are_counted() {
    let mut tally = Tally::default();
    let output = "running 3 tests\ntest a::b ... ok\ntest a::c ... FAILED\ntest d ... ignored\n\
                  test result: FAILED. 1 passed; 1 failed; 1 ignored; 0 measured; 7 filtered out; finished in 1.05s\n\
                  test result: ok. 12 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\
                  a test result: ok. 5 passed; nothing\n";
    output.lines().for_each(|line| count(line, &mut tally));
    assert_eq!(tally, Tally { passed: 13, failed: 2, failures: vec!["a::c".to_owned(), "d".to_owned()] });
}

#[test]
fn needs_stand_before_the_steps_that_need_them() {
    for table in [TEST, QUICK] {
        for (at, step) in table.iter().enumerate() {
            let before: Vec<&str> = table.iter().take(at).map(|step| step.name).collect();
            assert!(!before.contains(&step.name), "{} stands twice", step.name);
            for need in step.needs {
                assert!(before.contains(need), "{} needs {need}, which does not stand before it", step.name);
            }
        }
    }
}

fn names(words: &[&str]) -> anyhow::Result<Vec<&'static str>> {
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    Ok(choose(TEST, &words)?.iter().map(|step| step.name).collect())
}

#[test]
fn a_step_runs_with_what_it_needs_and_no_more() {
    assert_eq!(names(&["format"]).unwrap(), ["format"]);
    assert_eq!(names(&["demo", "format"]).unwrap(), ["format", "build", "demo"]);
    assert_eq!(names(&[]).unwrap().len(), TEST.len());
    assert!(names(&["nothing"]).unwrap_err().to_string().contains("no step is called nothing"));
}

const FAKE: &[Step] = &[
    Step { name: "one", what: "", needs: &[], run: |_| bail!("it fails") },
    Step { name: "two", what: "", needs: &["one"], run: |_| panic!("it must not run") },
    Step {
        name: "three",
        what: "",
        needs: &["two"],
        run: |_| panic!("what needs a step that could not run cannot run either"),
    },
    Step {
        name: "four",
        what: "",
        needs: &[],
        run: |tally| {
            tally.passed = 5;
            Ok(())
        },
    },
];

#[test]
fn a_failure_stops_only_what_depends_on_it() {
    assert_eq!(run(FAKE, &[]).unwrap(), std::process::ExitCode::FAILURE);
    assert_eq!(run(FAKE, &["four".to_owned()]).unwrap(), std::process::ExitCode::SUCCESS);
}

#[test]
fn a_step_without_cases_is_one() {
    let mut tally = Tally::default();
    tally.finish(Ok(()));
    assert_eq!((tally.passed, tally.failed), (1, 0));
    let mut tally = Tally { passed: 3, ..Tally::default() };
    tally.finish(Err(anyhow::anyhow!("late")));
    assert_eq!((tally.passed, tally.failed), (3, 1));
}
