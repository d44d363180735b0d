// TypeScript that is more than types.
import { type Api, tell } from "./lib/tell.ts";

enum Colour { Red, Green = 5, Blue, Text = "text" }
const enum Flag { A = 1 << 0, B = 1 << 1, Both = A | B }
namespace Outer { export const value = 1; export namespace Inner { export const value = 2; } }
abstract class Base<T> {
  static made = 0;
  static { Base.made = 10; }
  #hidden = 3;
  declare notThere: string;
  constructor(public readonly first: T, protected second = 2, private third?: string) {}
  get hidden() { return this.#hidden; }
  has(other: object) { return #hidden in other; }
  abstract name(): string;
}
class Child extends Base<string> {
  override name() { return `${this.first}${this.second}`; }
  accessorLike!: number;
}
function overloaded(value: string): string;
function overloaded(value: number): number;
function overloaded(value: unknown) { return value; }
const checked = { a: 1 } satisfies Record<string, number>;
const cast = <T,>(value: unknown) => value as T;

export default (pi: Api) => {
  const child = new Child("x");
  tell(pi, {
    colour: Colour, back: Colour[5], flag: Flag.Both, outer: [Outer.value, Outer.Inner.value], child: child.name(), keys: Object.keys(child),
    hidden: child.hidden, has: [child.has(child), child.has({})], made: Base.made, overloaded: overloaded(1), checked, cast: cast<number>("1"),
    chain: (undefined as { a?: { b: number } } | undefined)?.a?.b ?? "none", tuple: [..."añ😀"].length, nonNull: checked!.a,
    group: Object.keys(Object.groupBy([1, 2, 3], (n) => (n % 2 ? "odd" : "even"))), sorted: [3, 1].toSorted(), at: [1, 2].at(-1),
  });
};
