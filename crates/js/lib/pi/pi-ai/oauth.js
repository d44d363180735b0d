// `pi-ai/oauth`: types only, nothing at run time.
export {};
