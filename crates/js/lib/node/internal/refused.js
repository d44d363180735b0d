// Makes the members of modules that an extension can import and cannot use: each throws when it is called or constructed,
// and names the module and the reason, so that a package which imports one without need still works.
import { unsupported } from "jackfield:node/internal/errors";

export function refusedFunction(module, name, why) {
  const refuse = function () { throw unsupported(module, `${name}()`, why); };
  Object.defineProperty(refuse, "name", { value: name, configurable: true });
  return refuse;
}

export function refusedClass(module, name, why) {
  const Refused = class {
    constructor() { throw unsupported(module, `new ${name}()`, why); }
  };
  Object.defineProperty(Refused, "name", { value: name, configurable: true });
  return Refused;
}
