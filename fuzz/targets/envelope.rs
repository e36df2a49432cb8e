//! Passes the inputs of libFuzzer to [`haft_fuzz::envelope`].

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| haft_fuzz::envelope::check(data));
