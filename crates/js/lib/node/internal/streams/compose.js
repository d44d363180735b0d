// `compose`: several streams, generators or functions in a row as one Duplex.
import { toDuplex, joinSides } from "jackfield:node/internal/streams/duplex";
import { pipeline } from "jackfield:node/internal/streams/pipeline";
import { isReadableNode, isWritableNode } from "jackfield:node/internal/streams/legacy";
import { invalidArgValue, nodeError } from "jackfield:node/internal/io_errors";

export function compose(...streams) {
  if (streams.length === 0) throw nodeError(TypeError, "ERR_MISSING_ARGS", 'The "streams" argument must be specified');
  const parts = streams.map((stream, index) => toDuplex(stream, `streams[${index}]`));
  if (parts.length === 1) return parts[0];
  parts.forEach((part, index) => {
    if (index < parts.length - 1 && !isReadableNode(part)) throw invalidArgValue(`streams[${index}]`, streams[index], "must be readable");
    if (index > 0 && !isWritableNode(part)) throw invalidArgValue(`streams[${index}]`, streams[index], "must be writable");
  });
  const head = parts[0];
  const tail = parts[parts.length - 1];
  let joined = null;
  pipeline(parts, (error) => {
    if (error) joined?.destroy(error);
  });
  joined = joinSides({
    writable: isWritableNode(head) && head._writableState?.writable !== false ? head : undefined,
    readable: isReadableNode(tail) && tail._readableState?.readable !== false ? tail : undefined,
  });
  return joined;
}
