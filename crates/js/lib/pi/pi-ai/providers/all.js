// `pi-ai/providers/all`: pi's built-in catalogue of providers and models. There is
// none here, so every list is empty.
import { createModels } from "jackfield:pi/ai/models";

export { getAllBuiltinModels, getBuiltinClassifierModel, getBuiltinClassifierModels, getBuiltinModelDataGeneratedAt, getImageModel as getBuiltinImageModel, getImageModels as getBuiltinImageModels, getModel as getBuiltinModel, getModels as getBuiltinModels, getProviders as getBuiltinProviders } from "jackfield:pi/ai/catalogue";

/** The built-in providers: none. */
export function builtinProviders(_options) {
  return [];
}

/** An empty collection. */
export function builtinModels(options) {
  return createModels(options);
}

/** The provider of pi's own service: the agent's. */
export function radiusProvider(options = {}) {
  return { id: options.id ?? "radius", name: options.name ?? "Radius", auth: {}, getModels: () => [] };
}
