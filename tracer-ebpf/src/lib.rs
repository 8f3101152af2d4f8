//! Empty: exists so that `tracer` can name this package as a build-dependency, which rebuilds the BPF object when
//! this package or `tracer-common` changes.
#![no_std]
