//! Why an event was not counted in full: one number a cause and order.
