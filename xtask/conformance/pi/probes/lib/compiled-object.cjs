"use strict";
Object.defineProperty(exports, "__esModule", { value: true });
exports.default = { a: 1 };
exports.other = "other";
