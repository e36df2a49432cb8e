//! The system calls that the filter refuses.

use std::collections::BTreeMap;

use libc::c_long;

use super::program::{CallAction, Condition, Rule};
use crate::sandbox::NetworkAccess;

/// The newest call that the filter knows.
pub(super) const NEWEST: c_long = libc::SYS_mseal;

/// With musl, the libc crate does not have the number of this call on arm64.
#[cfg(target_arch = "aarch64")]
const KEXEC_FILE_LOAD: c_long = 294;
#[cfg(not(target_arch = "aarch64"))]
const KEXEC_FILE_LOAD: c_long = libc::SYS_kexec_file_load;

/// Calls that are refused for any arguments: they act on other processes, namespaces, mounts or keys, or belong to
/// root.
const ALWAYS: &[c_long] = &[
    // Access to other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_process_madvise,
    // Changes of the view of the system.
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_chroot,
    libc::SYS_pivot_root,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_open_by_handle_at,
    libc::SYS_fanotify_init,
    // Programs and events in the kernel, and page faults that stall other code.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    // Memory, messages and semaphores shared among all programs of the user, by number or by name.
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    // Keys of the user.
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    // Administration of the machine.
    libc::SYS_kexec_load,
    KEXEC_FILE_LOAD,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_syslog,
    libc::SYS_vhangup,
    libc::SYS_lookup_dcookie,
    libc::SYS_nfsservctl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_modify_ldt,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_uselib,
];

/// Calls that fail with `ENOSYS`. `clone3` has its flags in memory, and programs fall back to `clone`. The operations
/// of an io_uring bypass every filter.
const UNKNOWN: &[c_long] =
    &[libc::SYS_clone3, libc::SYS_io_uring_setup, libc::SYS_io_uring_enter, libc::SYS_io_uring_register];

/// The first Landlock version that restricts truncating a file.
const KNOWS_TRUNCATE: u32 = 3;

/// Returns the calls that are not always allowed, with this network access on a kernel with Landlock version `abi`.
pub(super) fn restricted_calls(net: NetworkAccess, abi: u32) -> BTreeMap<c_long, CallAction> {
    let refused = ALWAYS.iter().map(|call| (*call, CallAction::Refuse));
    let unknown = UNKNOWN.iter().map(|call| (*call, CallAction::Absent));
    let mut calls: BTreeMap<c_long, CallAction> = refused.chain(unknown).collect();
    calls.extend([
        (libc::SYS_clone, CallAction::RefuseIf(namespace_rules())),
        (libc::SYS_ioctl, CallAction::RefuseIf(terminal_rules())),
        (libc::SYS_socketpair, CallAction::RefuseIf(socket_pair_rules())),
        (libc::SYS_socket, socket_action(net)),
        // Limits and priorities of other programs of the same user.
        (libc::SYS_prlimit64, CallAction::RefuseIf(vec![vec![is_not(0, 0)]])),
        (libc::SYS_setpriority, CallAction::RefuseIf(vec![vec![is(0, PRIO_USER)]])),
        (libc::SYS_ioprio_set, CallAction::RefuseIf(vec![vec![is(0, IOPRIO_WHO_USER)]])),
    ]);
    if abi < KNOWS_TRUNCATE {
        calls.insert(libc::SYS_truncate, CallAction::Refuse);
        calls.insert(libc::SYS_openat, CallAction::RefuseIf(truncation_rules(2)));
        #[cfg(target_arch = "x86_64")]
        calls.insert(libc::SYS_open, CallAction::RefuseIf(truncation_rules(1)));
        // The flags of openat2 are in memory, and one of them truncates files.
        calls.insert(libc::SYS_openat2, CallAction::Absent);
    }
    calls
}

/// Selects every process of a user in `setpriority`.
const PRIO_USER: u32 = 2;

/// Selects every process of a user in `ioprio_set`.
const IOPRIO_WHO_USER: u32 = 3;

fn namespace_rules() -> Vec<Rule> {
    let flags = [
        libc::CLONE_NEWUSER,
        libc::CLONE_NEWNS,
        libc::CLONE_NEWPID,
        libc::CLONE_NEWNET,
        libc::CLONE_NEWIPC,
        libc::CLONE_NEWUTS,
        libc::CLONE_NEWCGROUP,
    ];
    flags.map(|flag| vec![has_bits(0, flag.cast_unsigned(), flag.cast_unsigned())]).into()
}

fn terminal_rules() -> Vec<Rule> {
    /// `TIOCSTI`: injects a character as if it had been typed.
    const INJECT_INPUT: u32 = 0x5412;
    /// `TIOCLINUX`: sets a console's selection, which can be pasted.
    const CONSOLE: u32 = 0x541C;
    [INJECT_INPUT, CONSOLE].map(|request| vec![is(1, request)]).into()
}

/// The bits of a socket's type without its flags.
const KIND: u32 = 0xf;

/// Refuses datagram pairs, whose ends can send to any address. Stream and seqpacket pairs stay connected to each other.
fn socket_pair_rules() -> Vec<Rule> {
    let connected = [libc::SOCK_STREAM.cast_unsigned(), libc::SOCK_SEQPACKET.cast_unsigned()];
    let other = (0..=KIND).filter(|kind| !connected.contains(kind));
    other.map(|kind| vec![has_bits(1, KIND, kind)]).collect()
}

/// Refuses all sockets, or all except TCP, UDP and the kernel's tables of addresses and routes, which libraries read
/// before they connect. Unix sockets are always refused, because Landlock cannot tell one from another.
fn socket_action(net: NetworkAccess) -> CallAction {
    if net == NetworkAccess::None {
        return CallAction::Refuse;
    }
    let [v4, v6, tables] = [libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK].map(i32::cast_unsigned);
    let raw = libc::SOCK_RAW.cast_unsigned();
    CallAction::RefuseIf(vec![
        vec![is_not(0, v4), is_not(0, v6), is_not(0, tables)],
        vec![is(0, v4), has_bits(1, KIND, raw)],
        vec![is(0, v6), has_bits(1, KIND, raw)],
        vec![is(0, tables), is_not(2, libc::NETLINK_ROUTE.cast_unsigned())],
    ])
}

/// Refuses an `open` that truncates a file opened only for reading, which older Landlock versions allow.
fn truncation_rules(flags: u32) -> Vec<Rule> {
    let [truncate, mode] = [libc::O_TRUNC, libc::O_ACCMODE].map(i32::cast_unsigned);
    // The last access mode is neither reading nor writing, but checks the file's permissions for both.
    [libc::O_RDONLY.cast_unsigned(), mode]
        .map(|opened| vec![has_bits(flags, truncate | mode, truncate | opened)])
        .into()
}

fn is(arg: u32, value: u32) -> Condition {
    has_bits(arg, u32::MAX, value)
}

fn is_not(arg: u32, value: u32) -> Condition {
    Condition { equal: false, ..is(arg, value) }
}

fn has_bits(arg: u32, mask: u32, value: u32) -> Condition {
    Condition { arg, mask, value, equal: true }
}
