// Buffer's methods that read and write numbers. Integers up to 6 bytes are put together from bytes, since a DataView for
// each call would cost more than the work; floats and 64-bit integers go through one shared scratch area.
import { invalidArgType, outOfRange, rangeError } from "jackfield:node/internal/errors";

const scratch = new DataView(new ArrayBuffer(8));
const scratchBytes = new Uint8Array(scratch.buffer);

function badOffset(value, length, size) {
  if (typeof value !== "number") return invalidArgType("offset", "number", value);
  if (!Number.isInteger(value)) return outOfRange("offset", "an integer", value);
  if (length - size < 0) return rangeError("ERR_BUFFER_OUT_OF_BOUNDS", "Attempt to access memory outside buffer bounds");
  return outOfRange("offset", `>= 0 and <= ${length - size}`, value);
}

const checkOffset = (buffer, offset, size) => {
  if (!(Number.isInteger(offset) && offset >= 0 && offset + size <= buffer.length)) throw badOffset(offset, buffer.length, size);
};

const checkSize = (size) => {
  if (size === undefined || typeof size !== "number") throw invalidArgType("byteLength", "number", size);
  if (!Number.isInteger(size)) throw outOfRange("byteLength", "an integer", size);
  if (size < 1 || size > 6) throw outOfRange("byteLength", ">= 1 and <= 6", size);
};

function readUnsigned(buffer, offset, size, little) {
  checkOffset(buffer, offset, size);
  let value = 0;
  if (little) for (let i = size - 1; i >= 0; i--) value = value * 256 + buffer[offset + i];
  else for (let i = 0; i < size; i++) value = value * 256 + buffer[offset + i];
  return value;
}

function readSigned(buffer, offset, size, little) {
  const value = readUnsigned(buffer, offset, size, little);
  const limit = 2 ** (8 * size - 1);
  return value >= limit ? value - 2 * limit : value;
}

const rangeText = (size, signed) => {
  const bits = 8 * size - (signed ? 1 : 0);
  if (size <= 4) return `>= ${signed ? -(2 ** bits) : 0} and <= ${2 ** bits - 1}`;
  return signed ? `>= -(2 ** ${bits}) and < 2 ** ${bits}` : `>= 0 and < 2 ** ${bits}`;
};

function writeInteger(buffer, value, offset, size, little, signed) {
  let number = +value;
  const limit = 2 ** (8 * size - (signed ? 1 : 0));
  if (number >= limit || number < (signed ? -limit : 0)) throw outOfRange("value", rangeText(size, signed), number);
  checkOffset(buffer, offset, size);
  number = Number.isNaN(number) ? 0 : Math.trunc(number);
  if (number < 0) number += 2 ** (8 * size);
  if (little) {
    for (let i = 0; i < size; i++) {
      buffer[offset + i] = number % 256;
      number = Math.floor(number / 256);
    }
  } else {
    for (let i = size - 1; i >= 0; i--) {
      buffer[offset + i] = number % 256;
      number = Math.floor(number / 256);
    }
  }
  return offset + size;
}

function readScratch(buffer, offset, size, method, little) {
  checkOffset(buffer, offset, size);
  for (let i = 0; i < size; i++) scratchBytes[i] = buffer[offset + i];
  return scratch[method](0, little);
}

function writeScratch(buffer, value, offset, size, method, little) {
  checkOffset(buffer, offset, size);
  scratch[method](0, value, little);
  for (let i = 0; i < size; i++) buffer[offset + i] = scratchBytes[i];
  return offset + size;
}

function checkBig(value, signed) {
  if (typeof value !== "bigint") throw invalidArgType("value", "bigint", value);
  const [low, high] = signed ? [-(2n ** 63n), 2n ** 63n - 1n] : [0n, 2n ** 64n - 1n];
  if (value < low || value > high) {
    throw outOfRange("value", signed ? ">= -(2n ** 63n) and < 2n ** 63n" : ">= 0n and < 2n ** 64n", value);
  }
}

export function install(proto) {
  const define = (names, method) => {
    for (const name of names) Object.defineProperty(proto, name, { value: method, writable: true, configurable: true, enumerable: true });
  };
  for (const [end, little] of [["LE", true], ["BE", false]]) {
    for (const [bits, size] of [[16, 2], [32, 4]]) {
      define([`readUInt${bits}${end}`, `readUint${bits}${end}`], function (offset = 0) { return readUnsigned(this, offset, size, little); });
      define([`readInt${bits}${end}`], function (offset = 0) { return readSigned(this, offset, size, little); });
      define([`writeUInt${bits}${end}`, `writeUint${bits}${end}`], function (value, offset = 0) { return writeInteger(this, value, offset, size, little, false); });
      define([`writeInt${bits}${end}`], function (value, offset = 0) { return writeInteger(this, value, offset, size, little, true); });
    }
    define([`readUInt${end}`, `readUint${end}`], function (offset, size) {
      if (offset === undefined) throw invalidArgType("offset", "number", offset);
      checkSize(size);
      return readUnsigned(this, offset, size, little);
    });
    define([`readInt${end}`], function (offset, size) {
      if (offset === undefined) throw invalidArgType("offset", "number", offset);
      checkSize(size);
      return readSigned(this, offset, size, little);
    });
    define([`writeUInt${end}`, `writeUint${end}`], function (value, offset, size) {
      checkSize(size);
      return writeInteger(this, value, offset, size, little, false);
    });
    define([`writeInt${end}`], function (value, offset, size) {
      checkSize(size);
      return writeInteger(this, value, offset, size, little, true);
    });
    define([`readFloat${end}`], function (offset = 0) { return readScratch(this, offset, 4, "getFloat32", little); });
    define([`readDouble${end}`], function (offset = 0) { return readScratch(this, offset, 8, "getFloat64", little); });
    define([`readBigInt64${end}`], function (offset = 0) { return readScratch(this, offset, 8, "getBigInt64", little); });
    define([`readBigUInt64${end}`, `readBigUint64${end}`], function (offset = 0) { return readScratch(this, offset, 8, "getBigUint64", little); });
    define([`writeFloat${end}`], function (value, offset = 0) { return writeScratch(this, +value, offset, 4, "setFloat32", little); });
    define([`writeDouble${end}`], function (value, offset = 0) { return writeScratch(this, +value, offset, 8, "setFloat64", little); });
    define([`writeBigInt64${end}`], function (value, offset = 0) {
      checkBig(value, true);
      return writeScratch(this, value, offset, 8, "setBigInt64", little);
    });
    define([`writeBigUInt64${end}`, `writeBigUint64${end}`], function (value, offset = 0) {
      checkBig(value, false);
      return writeScratch(this, value, offset, 8, "setBigUint64", little);
    });
  }
  define(["readUInt8", "readUint8"], function (offset = 0) { return readUnsigned(this, offset, 1, true); });
  define(["readInt8"], function (offset = 0) { return readSigned(this, offset, 1, true); });
  define(["writeUInt8", "writeUint8"], function (value, offset = 0) { return writeInteger(this, value, offset, 1, true, false); });
  define(["writeInt8"], function (value, offset = 0) { return writeInteger(this, value, offset, 1, true, true); });
}
