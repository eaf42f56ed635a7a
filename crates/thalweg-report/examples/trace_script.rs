//! Prints the script of pages of traces. `scripts/page` hashes it for the policy of the laboratory page.

fn main() {
    print!("{}", thalweg_report::report::trace_script());
}
