//! Checks that the committed class tables equal the output of the generator.

#[path = "../examples/unicode_tables.rs"]
mod unicode_tables;

#[test]
fn the_committed_tables_are_current() {
    let committed = include_str!("../src/sys/unicode/tables.rs");
    assert!(
        committed == unicode_tables::source(),
        "src/sys/unicode/tables.rs is stale; renew it with `cargo run -p zeton --example unicode_tables`"
    );
}
