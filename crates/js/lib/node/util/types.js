// node:util/types: the checks of util.types.
import * as types from "jackfield:node/internal/types";

export const {
  isMap, isSet, isWeakMap, isWeakSet, isDate, isRegExp, isArrayBuffer, isSharedArrayBuffer, isAnyArrayBuffer,
  isNumberObject, isStringObject, isBooleanObject, isBigIntObject, isSymbolObject, isBoxedPrimitive, isTypedArray,
  isArrayBufferView, isDataView, isUint8Array, isUint8ClampedArray, isUint16Array, isUint32Array, isInt8Array,
  isInt16Array, isInt32Array, isFloat16Array, isFloat32Array, isFloat64Array, isBigInt64Array, isBigUint64Array,
  isAsyncFunction, isGeneratorFunction, isGeneratorObject, isPromise, isArgumentsObject, isMapIterator, isSetIterator,
  isModuleNamespaceObject, isNativeError, isProxy, isExternal, isKeyObject, isCryptoKey, isEventTarget,
} = types;

export default {
  isMap, isSet, isWeakMap, isWeakSet, isDate, isRegExp, isArrayBuffer, isSharedArrayBuffer, isAnyArrayBuffer,
  isNumberObject, isStringObject, isBooleanObject, isBigIntObject, isSymbolObject, isBoxedPrimitive, isTypedArray,
  isArrayBufferView, isDataView, isUint8Array, isUint8ClampedArray, isUint16Array, isUint32Array, isInt8Array,
  isInt16Array, isInt32Array, isFloat16Array, isFloat32Array, isFloat64Array, isBigInt64Array, isBigUint64Array,
  isAsyncFunction, isGeneratorFunction, isGeneratorObject, isPromise, isArgumentsObject, isMapIterator, isSetIterator,
  isModuleNamespaceObject, isNativeError, isProxy, isExternal, isKeyObject, isCryptoKey, isEventTarget,
};
