// The Streams standard in one place: every class, each loaded from its file when it is first used.
export { ReadableStream, ReadableStreamDefaultReader, ReadableStreamDefaultController } from "jackfield:web/streams/readable";
export { ReadableStreamBYOBReader, ReadableStreamBYOBRequest, ReadableByteStreamController } from "jackfield:web/streams/bytes";
export { WritableStream, WritableStreamDefaultWriter, WritableStreamDefaultController } from "jackfield:web/streams/writable";
export { TransformStream, TransformStreamDefaultController } from "jackfield:web/streams/transform";
export { CountQueuingStrategy, ByteLengthQueuingStrategy } from "jackfield:web/streams/shared";
export { TextEncoderStream, TextDecoderStream, CompressionStream, DecompressionStream } from "jackfield:web/streams/coding";
