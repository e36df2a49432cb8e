//! Tests of the filter, with an interpreter that runs it like the kernel.

use libc::c_long;
use seccompiler::{BpfProgramRef, sock_filter};

use super::program::CallAction;
use super::{SyscallFilter, calls};
use crate::sandbox::NetworkAccess;

/// The result of a filtered call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    Allow,
    Refuse,
    Absent,
    Kill,
}
use Answer::{Absent, Allow, Kill, Refuse};

/// The kernel's number of this processor architecture.
#[cfg(target_arch = "x86_64")]
const ARCH: u32 = 0xC000_003E;
#[cfg(target_arch = "aarch64")]
const ARCH: u32 = 0xC000_00B7;

/// A Landlock version with all rules that matter here.
const NEW: u32 = 7;

/// Returns the input of a filter: call number, architecture, instruction address, six arguments.
fn data(call: u32, arch: u32, args: [u64; 6]) -> Vec<u32> {
    let halves = |value: u64| [(value & 0xffff_ffff) as u32, (value >> 32) as u32];
    let head = [call, arch, 0, 0];
    head.into_iter().chain(args.into_iter().flat_map(halves)).collect()
}

/// Executes a filter like the kernel, limited to the instructions that occur.
fn run_filter(program: BpfProgramRef<'_>, data: &[u32]) -> u32 {
    run_counted(program, data).0
}

/// Returns the filter's result and the number of executed instructions.
fn run_counted(program: BpfProgramRef<'_>, data: &[u32]) -> (u32, usize) {
    let (mut at, mut value) = (0, 0);
    for steps in 1.. {
        let sock_filter { code, jt, jf, k } = program[at];
        at += 1;
        let jump = |to: bool| usize::from(if to { jt } else { jf });
        match code {
            0x20 => value = data[k as usize / 4],
            0x54 => value &= k,
            0x05 => at += k as usize,
            0x15 => at += jump(value == k),
            0x35 => at += jump(value >= k),
            0x06 => return (k, steps),
            other => panic!("unknown instruction {other:#x}"),
        }
    }
    unreachable!("a filter has no loops")
}

fn answer(net: NetworkAccess, abi: u32, call: u32, arch: u32, args: &[u64]) -> Answer {
    let mut six = [0; 6];
    six[..args.len()].copy_from_slice(args);
    let data = data(call, arch, six);
    let SyscallFilter(program) = SyscallFilter::new(net, abi).unwrap();
    match run_filter(&program, &data) {
        libc::SECCOMP_RET_ALLOW => Allow,
        libc::SECCOMP_RET_KILL_PROCESS => Kill,
        errno if errno == libc::SECCOMP_RET_ERRNO | libc::EPERM.cast_unsigned() => Refuse,
        errno if errno == libc::SECCOMP_RET_ERRNO | libc::ENOSYS.cast_unsigned() => Absent,
        other => panic!("unknown action {other:#x}"),
    }
}

#[track_caller]
fn check(net: NetworkAccess, abi: u32, call: c_long, args: &[u64], expect: Answer) {
    let call = u32::try_from(call).unwrap();
    assert_eq!(answer(net, abi, call, ARCH, args), expect, "{call} {args:x?} with {net:?} on {abi}");
}

/// Bits above those that the kernel reads.
const ABOVE: u64 = 0xdead_0000_0000;

#[test]
fn refuses_dangerous_calls_at_any_network_access() {
    for net in [NetworkAccess::None, NetworkAccess::Loopback, NetworkAccess::All] {
        for call in [
            libc::SYS_ptrace,
            libc::SYS_process_vm_readv,
            libc::SYS_process_vm_writev,
            libc::SYS_pidfd_getfd,
            libc::SYS_unshare,
            libc::SYS_setns,
            libc::SYS_mount,
            libc::SYS_move_mount,
            libc::SYS_fsopen,
            libc::SYS_pivot_root,
            libc::SYS_chroot,
            libc::SYS_open_by_handle_at,
            libc::SYS_bpf,
            libc::SYS_perf_event_open,
            libc::SYS_userfaultfd,
            libc::SYS_shmget,
            libc::SYS_msgget,
            libc::SYS_semget,
            libc::SYS_mq_open,
            libc::SYS_add_key,
            libc::SYS_request_key,
            libc::SYS_keyctl,
            libc::SYS_kexec_load,
            libc::SYS_kexec_file_load,
            libc::SYS_finit_module,
            libc::SYS_reboot,
            libc::SYS_swapon,
            libc::SYS_clock_settime,
        ] {
            check(net, NEW, call, &[], Refuse);
        }
        for call in [
            libc::SYS_io_uring_setup,
            libc::SYS_io_uring_enter,
            libc::SYS_io_uring_register,
            libc::SYS_clone3,
        ] {
            check(net, NEW, call, &[], Absent);
        }
    }
}

#[test]
fn decides_every_call_number_as_listed() {
    let newest = u32::try_from(calls::NEWEST).unwrap();
    for (net, abi) in [(NetworkAccess::None, NEW), (NetworkAccess::All, 1)] {
        let listed = calls::restricted_calls(net, abi);
        for call in 0..newest + 100 {
            let expect = match listed.get(&c_long::from(call)) {
                Some(CallAction::Refuse) => Refuse,
                Some(CallAction::Absent) => Absent,
                Some(CallAction::RefuseIf(_)) => continue,
                None if call > newest => Absent,
                None => Allow,
            };
            assert_eq!(answer(net, abi, call, ARCH, &[]), expect, "{call} with {net:?} on {abi}");
        }
    }
}

/// The kernel runs the filter for each number before the program starts.
#[test]
fn finds_a_call_without_rules_in_few_steps() {
    let SyscallFilter(program) = SyscallFilter::new(NetworkAccess::None, NEW).unwrap();
    let listed = calls::restricted_calls(NetworkAccess::None, NEW);
    let plain =
        (0..500).filter(|call| !matches!(listed.get(&c_long::from(*call)), Some(CallAction::RefuseIf(_))));
    let steps = plain.map(|call| run_counted(&program, &data(call, ARCH, [0; 6])).1).max().unwrap();
    assert!(steps <= 12, "{steps} steps");
}

#[test]
fn allows_calls_that_programs_need() {
    for call in [
        libc::SYS_read,
        libc::SYS_write,
        libc::SYS_openat,
        libc::SYS_openat2,
        libc::SYS_mmap,
        libc::SYS_execve,
        libc::SYS_clone,
        libc::SYS_futex,
        libc::SYS_ioctl,
        libc::SYS_truncate,
        libc::SYS_fchmodat,
        libc::SYS_prlimit64,
        libc::SYS_kill,
        libc::SYS_connect,
        libc::SYS_mseal,
    ] {
        check(NetworkAccess::None, NEW, call, &[], Allow);
    }
}

#[test]
fn rejects_call_numbers_of_other_architectures_and_newer_kernels() {
    assert_eq!(answer(NetworkAccess::All, NEW, 0, 0x4000_0003, &[]), Kill);
    let first_new = u32::try_from(libc::SYS_mseal).unwrap() + 1;
    for call in [first_new, first_new + 100, 0x4000_0000, 0x4000_0000 + 41, u32::MAX] {
        assert_eq!(answer(NetworkAccess::All, NEW, call, ARCH, &[]), Absent, "{call:#x}");
    }
}

#[test]
fn allows_new_processes_and_refuses_new_namespaces() {
    let thread =
        libc::CLONE_VM | libc::CLONE_FS | libc::CLONE_FILES | libc::CLONE_SIGHAND | libc::CLONE_THREAD;
    for flags in [libc::SIGCHLD, thread, libc::CLONE_VFORK | libc::CLONE_VM | libc::SIGCHLD] {
        check(NetworkAccess::None, NEW, libc::SYS_clone, &[u64::from(flags.cast_unsigned())], Allow);
    }
    for flag in [
        libc::CLONE_NEWUSER,
        libc::CLONE_NEWNS,
        libc::CLONE_NEWPID,
        libc::CLONE_NEWNET,
        libc::CLONE_NEWIPC,
        libc::CLONE_NEWUTS,
        libc::CLONE_NEWCGROUP,
    ] {
        let flags = u64::from((flag | libc::SIGCHLD).cast_unsigned());
        check(NetworkAccess::None, NEW, libc::SYS_clone, &[flags], Refuse);
        check(NetworkAccess::None, NEW, libc::SYS_clone, &[flags | ABOVE], Refuse);
    }
}

#[test]
fn filters_sockets_by_network_access() {
    let [unix, v4, v6, netlink, packet, vsock] = [1, 2, 10, 16, 17, 40];
    let [stream, dgram, raw, seqpacket] = [1, 2, 3, 5];
    let flags = 0o2_004_000;
    let check = |net, family: u64, kind: u64, protocol: u64, expect| {
        for (above, flags) in [(0, 0), (0, flags), (ABOVE, flags)] {
            check(net, NEW, libc::SYS_socket, &[family | above, kind | flags | above, protocol], expect);
        }
    };
    for family in [unix, v4, v6, netlink, packet, vsock] {
        check(NetworkAccess::None, family, stream, 0, Refuse);
    }
    for net in [NetworkAccess::Loopback, NetworkAccess::All] {
        for family in [v4, v6] {
            check(net, family, stream, 0, Allow);
            check(net, family, dgram, 0, Allow);
            check(net, family, raw, 1, Refuse);
        }
        check(net, netlink, raw, 0, Allow);
        check(net, netlink, raw, 9, Refuse);
        check(net, unix, stream, 0, Refuse);
        check(net, unix, dgram, 0, Refuse);
        check(net, packet, raw, 0, Refuse);
        check(net, vsock, stream, 0, Refuse);
    }
    for net in [NetworkAccess::None, NetworkAccess::All] {
        for (kind, expect) in [(stream, Allow), (seqpacket, Allow), (dgram, Refuse), (raw, Refuse)] {
            super::tests::check(net, NEW, libc::SYS_socketpair, &[unix, kind | flags], expect);
            super::tests::check(net, NEW, libc::SYS_socketpair, &[unix, kind | ABOVE], expect);
        }
    }
}

#[test]
fn refuses_changes_to_other_processes_and_terminals() {
    let [mine, other] = [0, 4711];
    check(NetworkAccess::None, NEW, libc::SYS_prlimit64, &[mine, 7], Allow);
    check(NetworkAccess::None, NEW, libc::SYS_prlimit64, &[other, 7], Refuse);
    check(NetworkAccess::None, NEW, libc::SYS_setpriority, &[0, other], Allow);
    check(NetworkAccess::None, NEW, libc::SYS_setpriority, &[2, 0], Refuse);
    check(NetworkAccess::None, NEW, libc::SYS_ioprio_set, &[1, 0], Allow);
    check(NetworkAccess::None, NEW, libc::SYS_ioprio_set, &[3, 0], Refuse);
    check(NetworkAccess::None, NEW, libc::SYS_ioctl, &[0, 0x5401], Allow);
    for request in [0x5412, 0x541C, 0x5412 | ABOVE] {
        check(NetworkAccess::None, NEW, libc::SYS_ioctl, &[0, request], Refuse);
    }
}

/// Landlock versions that do not restrict truncation rely on the filter.
#[test]
fn refuses_truncation_on_older_kernels() {
    let [read, write, truncate, other] = [libc::O_RDONLY, libc::O_WRONLY, libc::O_TRUNC, libc::O_CLOEXEC]
        .map(|flag| u64::from(flag.cast_unsigned()));
    let neither = u64::from(libc::O_ACCMODE.cast_unsigned());
    for (abi, help) in [(1, true), (2, true), (3, false), (NEW, false)] {
        let refused = if help { Refuse } else { Allow };
        check(NetworkAccess::None, abi, libc::SYS_truncate, &[], refused);
        check(NetworkAccess::None, abi, libc::SYS_ftruncate, &[], Allow);
        check(NetworkAccess::None, abi, libc::SYS_openat2, &[], if help { Absent } else { Allow });
        for (flags, expect) in [
            (read | other, Allow),
            (write | truncate, Allow),
            (read | truncate, refused),
            (read | truncate | other, refused),
            (neither | truncate, refused),
        ] {
            check(NetworkAccess::None, abi, libc::SYS_openat, &[0, 0, flags], expect);
            #[cfg(target_arch = "x86_64")]
            check(NetworkAccess::None, abi, libc::SYS_open, &[0, flags], expect);
        }
    }
}
