// Object URLs: names for Blobs of this extension, for `fetch` and `resolveObjectURL` of node:buffer.
import { native } from "jackfield:host";
import { codedError } from "jackfield:web/bytes";
import { Blob } from "jackfield:web/blob";

const objects = new Map();

export function createObjectURL(blob) {
  if (!(blob instanceof Blob)) throw codedError(TypeError, "ERR_INVALID_ARG_TYPE", 'The "obj" argument must be an instance of Blob.');
  const id = `blob:nodedata:${native("uuid")}`;
  objects.set(id, blob);
  return id;
}
export function revokeObjectURL(id) { objects.delete(`${id}`); }
/** The Blob behind an object URL, or undefined. */
export const resolveObjectURL = (id) => objects.get(`${id}`);
