//! Passes the inputs of libFuzzer to [`haft_fuzz::answer`].

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| haft_fuzz::answer::check(data));
