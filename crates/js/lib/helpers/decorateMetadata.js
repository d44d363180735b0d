// What compiled type metadata calls. It is kept only where a library for it has been loaded.
export default function decorateMetadata(key, value) {
  if (typeof Reflect.metadata === "function") return Reflect.metadata(key, value);
  return undefined;
}
