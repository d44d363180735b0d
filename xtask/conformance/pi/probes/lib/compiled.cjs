"use strict";
Object.defineProperty(exports, "__esModule", { value: true });
exports.default = "default of a compiled module";
exports.other = "other";
