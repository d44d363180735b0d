// `pi-ai/models`: models as data.
export { AI_TELEMETRY_SCHEMA } from "jackfield:pi/ai/constants";
export { ModelsError, calculateCost, clampThinkingLevel, createModels, createProvider, getModelType, getSupportedThinkingLevels, hasApi, isModelType, modelsAreEqual } from "jackfield:pi/ai/models";
