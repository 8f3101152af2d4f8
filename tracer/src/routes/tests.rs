use super::*;

fn frames(names: &str) -> Vec<Frame> {
    names.split(';').map(|name| Frame { name: name.to_owned(), module: None }).collect()
}

#[test]
fn a_large_kmalloc_under_a_socket_call_is_named_so() {
    let path = frames(
        "get_page_from_freelist;__alloc_frozen_pages_noprof;___kmalloc_large_node;__kmalloc_large_node_noprof;\
         __alloc_skb;alloc_skb_with_frags;sock_alloc_send_pskb;__ip_append_data;ip_make_skb;udp_sendmsg;__sys_sendto;\
         __x64_sys_sendto;do_syscall_64;entry_SYSCALL_64_after_hwframe",
    );
    assert_eq!(route(&path), Route::KmallocLarge);
    assert_eq!(context(&path).to_string(), "syscall:sendto");
}
