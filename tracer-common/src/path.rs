//! Kernel paths: how they are stored once, and how a remembered one is found again.
