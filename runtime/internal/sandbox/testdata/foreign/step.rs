//! A step in Rust: sorts the words of its input by their hashes, calls a tool
//! with them, and puts out what came back. It uses the allocator, a map, trait
//! objects and floats.
use std::collections::BTreeMap;

#[link(wasm_import_module = "pawl_v1")]
extern "C" {
    fn call(tool: *const u8, tool_len: u32, request: *const u8, request_len: u32) -> u64;
    fn take(to: *mut u8, cap: u32) -> i32;
    fn put(kind: u32, text: *const u8, len: u32);
}

fn taken(len: usize) -> Vec<u8> {
    let mut b = vec![0; len];
    unsafe { take(b.as_mut_ptr(), len as u32) };
    b
}

fn body(frame: &[u8]) -> &[u8] {
    let head = u32::from_le_bytes([frame[0], frame[1], frame[2], frame[3]]) as usize;
    &frame[4 + head..]
}

trait Mix {
    fn mix(&self, h: u64, b: u8) -> u64;
}
struct Fnv;
struct Rotate;
impl Mix for Fnv {
    fn mix(&self, h: u64, b: u8) -> u64 {
        (h ^ b as u64).wrapping_mul(0x100000001b3)
    }
}
impl Mix for Rotate {
    fn mix(&self, h: u64, b: u8) -> u64 {
        h.rotate_left(5).wrapping_add((b as f64).sqrt() as u64)
    }
}

#[no_mangle]
pub extern "C" fn pawl_step(len: i32) -> i32 {
    let frame = taken(len as usize);
    let text = String::from_utf8_lossy(body(&frame)).into_owned();
    let mut sorted: BTreeMap<u64, String> = BTreeMap::new();
    let mixers: [Box<dyn Mix>; 2] = [Box::new(Fnv), Box::new(Rotate)];
    for (i, word) in text.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()).enumerate() {
        let mut h = 0xcbf29ce484222325;
        for b in word.bytes() {
            h = mixers[i % 2].mix(h, b);
        }
        sorted.insert(h, word.to_string());
    }
    let words: Vec<String> = sorted.values().map(|w| format!("{:?}", w)).collect();
    let mut request = vec![];
    let head = br#"{"type":"json"}"#;
    request.extend((head.len() as u32).to_le_bytes());
    request.extend(head);
    request.extend(format!("[{}]", words.join(",")).bytes());
    let tool = "words.keep";
    let status = unsafe { call(tool.as_ptr(), tool.len() as u32, request.as_ptr(), request.len() as u32) };
    let answer = taken((status & 0xffffffff) as usize);
    let out = body(&answer);
    unsafe { put(0, out.as_ptr(), out.len() as u32) };
    0
}
