// node:stream/promises.
import { finishedPromise as finished } from "jackfield:node/internal/streams/eos";
import { pipelinePromise as pipeline } from "jackfield:node/internal/streams/pipeline";

export { finished, pipeline };
export default { get finished() { return finished; }, get pipeline() { return pipeline; } };
