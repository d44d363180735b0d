//! The tests of the Python worker, which are written in Python.

use std::path::Path;
use std::process::Command;

#[test]
fn the_worker_in_python() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("python/tests");
    let output = Command::new("python3")
        .args(["-B", "-m", "unittest", "discover", "-s"])
        .arg(&tests)
        .output()
        .unwrap_or_else(|error| panic!("python3 runs the worker's tests: {error}; run `cargo xtask test`"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("Ran ") && !said.contains("Ran 0 "), "{said}");
}
