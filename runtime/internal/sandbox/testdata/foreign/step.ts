// A step in AssemblyScript: reverses its input's characters, calls a tool with
// them as a list, and puts out what came back.
@external("pawl_v1", "call")
declare function call(tool: usize, toolLen: u32, request: usize, requestLen: u32): u64;
@external("pawl_v1", "take")
declare function take(to: usize, cap: u32): i32;
@external("pawl_v1", "put")
declare function put(kind: u32, text: usize, len: u32): void;

function taken(len: u32): ArrayBuffer {
  const b = new ArrayBuffer(len);
  take(changetype<usize>(b), len);
  return b;
}

function body(frame: ArrayBuffer): string {
  const head = load<u32>(changetype<usize>(frame));
  return String.UTF8.decodeUnsafe(changetype<usize>(frame) + 4 + head, frame.byteLength - 4 - head);
}

export function pawl_step(len: i32): i32 {
  const text = body(taken(len));
  const items = new Array<string>();
  for (let i = text.length - 1; i >= 0; i--) items.push(text.charCodeAt(i).toString());
  const head = '{"type":"json"}';
  const rest = String.UTF8.encode(head + "[" + items.join(",") + "]");
  const request = new ArrayBuffer(4 + rest.byteLength);
  store<u32>(changetype<usize>(request), head.length);
  memory.copy(changetype<usize>(request) + 4, changetype<usize>(rest), rest.byteLength);
  const tool = String.UTF8.encode("chars.keep");
  const result = call(changetype<usize>(tool), 10, changetype<usize>(request), request.byteLength);
  const answer = String.UTF8.encode(body(taken(<u32>result)));
  put(0, changetype<usize>(answer), answer.byteLength);
  return 0;
}
