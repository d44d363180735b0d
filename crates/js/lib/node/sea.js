// node:sea: an extension is never a single executable application.
import { refusedFunction } from "jackfield:node/internal/refused";

const why = "an extension is not a single executable";
export const getAsset = refusedFunction("sea", "getAsset", why);
export const getAssetAsBlob = refusedFunction("sea", "getAssetAsBlob", why);
export const getRawAsset = refusedFunction("sea", "getRawAsset", why);
export const isSea = () => false;

export default { getAsset, getAssetAsBlob, getRawAsset, isSea };
