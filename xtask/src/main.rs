//! Tasks that cargo itself cannot do.
fn main() {}
