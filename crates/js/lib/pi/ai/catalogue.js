// Lookups in a built-in catalogue of models. There is none here: what models
// exist is the agent's knowledge. Providers that the extension registers are
// not in it, as in pi.

/** A built-in model: none. */
export function getModel(_provider, _modelId) { return undefined; }
/** The built-in models of a provider: none. */
export function getModels(_provider) { return []; }
/** The built-in providers: none. */
export function getProviders() { return []; }
/** A built-in image model: none. */
export function getImageModel(_provider, _modelId) { return undefined; }
/** The built-in image models of a provider: none. */
export function getImageModels(_provider) { return []; }
/** The built-in providers of images: none. */
export function getImageProviders() { return []; }
/** A built-in classifier: none. */
export function getBuiltinClassifierModel(_provider, _modelId) { return undefined; }
/** The built-in classifiers of a provider: none. */
export function getBuiltinClassifierModels(_provider) { return []; }
/** All built-in models: none. */
export function getAllBuiltinModels() { return []; }
/** When the catalogue was made: there is none. */
export function getBuiltinModelDataGeneratedAt() { return undefined; }
