//! The system calls that the filter refuses.

use std::collections::BTreeMap;

use libc::c_long;
use seccompiler::{
    BackendError, SeccompCmpArgLen, SeccompCmpOp as Is, SeccompCondition as Condition, SeccompRule as Rule,
};

use crate::sandbox::NetworkAccess;

pub(super) const NEWEST: c_long = libc::SYS_mseal;

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
    libc::SYS_kexec_file_load,
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

/// Returns the calls that fail with `ENOSYS`, as on a kernel that is too old for them.
pub(super) fn unknown_calls(abi: u32) -> impl Iterator<Item = c_long> {
    // The flags of openat2 are in memory, and one of them truncates files.
    let openat2 = (abi < KNOWS_TRUNCATE).then_some(libc::SYS_openat2);
    UNKNOWN.iter().copied().chain(openat2)
}

/// Refused calls: always if the list of rules is empty, otherwise if one of the rules matches.
type RefusedCalls = BTreeMap<c_long, Vec<Rule>>;

/// Returns the calls that are refused with this network access on a kernel with Landlock version `abi`.
pub(super) fn refused_calls(net: NetworkAccess, abi: u32) -> Result<RefusedCalls, BackendError> {
    let mut refused: RefusedCalls = ALWAYS.iter().map(|call| (*call, Vec::new())).collect();
    refused.extend([
        (libc::SYS_clone, namespace_rules()?),
        (libc::SYS_ioctl, terminal_rules()?),
        (libc::SYS_socketpair, socket_pair_rules()?),
        (libc::SYS_socket, socket_rules(net)?),
        // Limits and priorities of other programs of the same user.
        (libc::SYS_prlimit64, vec![all([is_not(0, 0)?])?]),
        (libc::SYS_setpriority, vec![all([is(0, PRIO_USER)?])?]),
        (libc::SYS_ioprio_set, vec![all([is(0, IOPRIO_WHO_USER)?])?]),
    ]);
    if abi < KNOWS_TRUNCATE {
        refused.insert(libc::SYS_truncate, Vec::new());
        refused.insert(libc::SYS_openat, truncation_rules(2)?);
        #[cfg(target_arch = "x86_64")]
        refused.insert(libc::SYS_open, truncation_rules(1)?);
    }
    Ok(refused)
}

/// Selects every process of a user in `setpriority`.
const PRIO_USER: u32 = 2;

/// Selects every process of a user in `ioprio_set`.
const IOPRIO_WHO_USER: u32 = 3;

fn namespace_rules() -> Result<Vec<Rule>, BackendError> {
    let flags = [
        libc::CLONE_NEWUSER,
        libc::CLONE_NEWNS,
        libc::CLONE_NEWPID,
        libc::CLONE_NEWNET,
        libc::CLONE_NEWIPC,
        libc::CLONE_NEWUTS,
        libc::CLONE_NEWCGROUP,
    ];
    flags.into_iter().map(|flag| all([has_bits(0, flag.cast_unsigned(), flag.cast_unsigned())?])).collect()
}

fn terminal_rules() -> Result<Vec<Rule>, BackendError> {
    /// `TIOCSTI`: injects a character as if it had been typed.
    const INJECT_INPUT: u32 = 0x5412;
    /// `TIOCLINUX`: sets a console's selection, which can be pasted.
    const CONSOLE: u32 = 0x541C;
    [INJECT_INPUT, CONSOLE].into_iter().map(|request| all([is(1, request)?])).collect()
}

/// The bits of a socket's type without its flags.
const KIND: u32 = 0xf;

/// Refuses datagram pairs, whose ends can send to any address. Stream and seqpacket pairs stay connected to each other.
fn socket_pair_rules() -> Result<Vec<Rule>, BackendError> {
    let connected = [libc::SOCK_STREAM.cast_unsigned(), libc::SOCK_SEQPACKET.cast_unsigned()];
    let other = (0..=KIND).filter(|kind| !connected.contains(kind));
    other.map(|kind| all([has_bits(1, KIND, kind)?])).collect()
}

/// Refuses all sockets, or all except TCP, UDP and the kernel's tables of addresses and routes, which libraries read
/// before they connect. Unix sockets are always refused, because Landlock cannot tell one from another.
fn socket_rules(net: NetworkAccess) -> Result<Vec<Rule>, BackendError> {
    if net == NetworkAccess::None {
        return Ok(Vec::new());
    }
    let [v4, v6, tables] = [libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK].map(i32::cast_unsigned);
    let raw = libc::SOCK_RAW.cast_unsigned();
    Ok(vec![
        all([is_not(0, v4)?, is_not(0, v6)?, is_not(0, tables)?])?,
        all([is(0, v4)?, has_bits(1, KIND, raw)?])?,
        all([is(0, v6)?, has_bits(1, KIND, raw)?])?,
        all([is(0, tables)?, is_not(2, libc::NETLINK_ROUTE.cast_unsigned())?])?,
    ])
}

/// Refuses an `open` that truncates a file opened only for reading, which older Landlock versions allow.
fn truncation_rules(flags: u8) -> Result<Vec<Rule>, BackendError> {
    let [truncate, mode] = [libc::O_TRUNC, libc::O_ACCMODE].map(i32::cast_unsigned);
    // The last access mode is neither reading nor writing, but checks the file's permissions for both.
    [libc::O_RDONLY.cast_unsigned(), mode]
        .into_iter()
        .map(|opened| all([has_bits(flags, truncate | mode, truncate | opened)?]))
        .collect()
}

fn all(conditions: impl Into<Vec<Condition>>) -> Result<Rule, BackendError> {
    Rule::new(conditions.into())
}

/// Compares the lower half of an argument, because all these arguments are 32-bit numbers.
fn is(arg: u8, value: u32) -> Result<Condition, BackendError> {
    Condition::new(arg, SeccompCmpArgLen::Dword, Is::Eq, value.into())
}

fn is_not(arg: u8, value: u32) -> Result<Condition, BackendError> {
    Condition::new(arg, SeccompCmpArgLen::Dword, Is::Ne, value.into())
}

fn has_bits(arg: u8, mask: u32, value: u32) -> Result<Condition, BackendError> {
    Condition::new(arg, SeccompCmpArgLen::Dword, Is::MaskedEq(mask.into()), value.into())
}
