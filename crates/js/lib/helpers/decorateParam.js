// What compiled parameter decorators call: turns one into a member decorator that knows its parameter's place.
export default function decorateParam(index, decorator) {
  return (target, key) => decorator(target, key, index);
}
