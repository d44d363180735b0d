"use strict";
Object.defineProperty(exports, "__esModule", { value: true });
exports.default = function () { return 1; };
exports.other = "other";
