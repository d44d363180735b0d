// `@earendil-works/pi-agent-core`: the agent loop as a library. One tool call
// can be run here; the loop itself needs a model and asks the host's agent.
export { Agent, DEFAULT_AGENT_IDENTITY, agentLoop, agentLoopContinue, runAgentLoop, runAgentLoopContinue, runToolCall, setDefaultStreamFn, streamProxy } from "jackfield:pi/ai/agent";
