//! libFuzzer's input for [`haft_fuzz::rpc`].

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| haft_fuzz::rpc::check(data));
