//! What user space decides before load: one checked struct, written into a read-only global, so that the verifier
//! drops every branch that is switched off.
