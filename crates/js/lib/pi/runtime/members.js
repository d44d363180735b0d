// Objects whose members are made when they are used: `pi` and every `ctx` have dozens, of which an extension uses a few.
// To the extension they look like plain objects: members are its own, can be listed, spread, kept and called alone.

const own = (value) => ({ value, writable: true, enumerable: true, configurable: true });

const handler = {
  get(target, name) {
    const { made, names, cx } = target;
    if (name in made) return made[name];
    const kind = names[name];
    if (kind === undefined) return Object.prototype[name];
    if (kind === "read") return target.read(cx, name);
    return (made[name] = target.make(cx, name));
  },
  has: ({ made, names }, name) => name in made || name in names || name in Object.prototype,
  set({ made, names }, name, value) {
    if (names[name] === "read") return false;
    made[name] = value;
    return true;
  },
  defineProperty({ made }, name, { get, value }) {
    made[name] = get ? get() : value;
    return true;
  },
  deleteProperty: ({ made }, name) => delete made[name],
  ownKeys: ({ made, names }) => [...new Set([...Object.keys(names), ...Reflect.ownKeys(made)])],
  getOwnPropertyDescriptor(target, name) {
    if (!(name in target.made) && !(name in target.names)) return undefined;
    if (target.names[name] !== "read" || name in target.made) return own(this.get(target, name));
    return { get: () => this.get(target, name), set: undefined, enumerable: true, configurable: true };
  },
  getPrototypeOf: () => Object.prototype,
};

/** The kinds of members: `read` anew at each use, or `make` once. Null-prototype objects, so that every name is a member. */
export function kinds(read, make, base) {
  const names = Object.assign(Object.create(null), base);
  for (const name of read) names[name] = "read";
  for (const name of make) names[name] = "make";
  return names;
}

/** An object with the members `names`; `read(cx, name)` and `make(cx, name)` say what they are. */
export function withMembers(names, cx, read, make) {
  return new Proxy({ names, cx, read, make, made: Object.create(null) }, handler);
}
