//! libFuzzer's input for [`haft_fuzz::hooks`].

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| haft_fuzz::hooks::check(data));
