//! Runs the examples, which check their own results.
#![allow(dead_code, reason = "each is a program")]

#[path = "../../examples/echo.rs"]
mod echo;
#[path = "../../examples/futures.rs"]
mod futures;

#[test]
fn the_echo_example_returns_its_input() {
    echo::main().unwrap();
}

#[test]
fn futures_run_without_a_runtime() {
    futures::main().unwrap();
}
