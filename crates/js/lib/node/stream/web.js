// node:stream/web: the streams of the web platform, the same classes as the globals.
import {
  ReadableStream, ReadableStreamDefaultReader, ReadableStreamBYOBReader, ReadableStreamBYOBRequest, ReadableByteStreamController, ReadableStreamDefaultController, TransformStream,
  TransformStreamDefaultController, WritableStream, WritableStreamDefaultController, WritableStreamDefaultWriter, ByteLengthQueuingStrategy, CountQueuingStrategy, TextEncoderStream,
  TextDecoderStream, CompressionStream, DecompressionStream,
} from "jackfield:web/streams";

export {
  ReadableStream, ReadableStreamDefaultReader, ReadableStreamBYOBReader, ReadableStreamBYOBRequest, ReadableByteStreamController, ReadableStreamDefaultController, TransformStream,
  TransformStreamDefaultController, WritableStream, WritableStreamDefaultController, WritableStreamDefaultWriter, ByteLengthQueuingStrategy, CountQueuingStrategy, TextEncoderStream,
  TextDecoderStream, CompressionStream, DecompressionStream,
};

export default {
  get ReadableStream() { return ReadableStream; }, get ReadableStreamDefaultReader() { return ReadableStreamDefaultReader; }, get ReadableStreamBYOBReader() { return ReadableStreamBYOBReader; },
  get ReadableStreamBYOBRequest() { return ReadableStreamBYOBRequest; }, get ReadableByteStreamController() { return ReadableByteStreamController; },
  get ReadableStreamDefaultController() { return ReadableStreamDefaultController; }, get TransformStream() { return TransformStream; },
  get TransformStreamDefaultController() { return TransformStreamDefaultController; }, get WritableStream() { return WritableStream; },
  get WritableStreamDefaultController() { return WritableStreamDefaultController; }, get WritableStreamDefaultWriter() { return WritableStreamDefaultWriter; },
  get ByteLengthQueuingStrategy() { return ByteLengthQueuingStrategy; }, get CountQueuingStrategy() { return CountQueuingStrategy; }, get TextEncoderStream() { return TextEncoderStream; },
  get TextDecoderStream() { return TextDecoderStream; }, get CompressionStream() { return CompressionStream; }, get DecompressionStream() { return DecompressionStream; },
};
