exports.named = "named";
exports.file = require("node:path").basename(__filename);
exports.folder = require("path").basename(__dirname);
exports.self = module.exports === exports;
exports.cached = require("./common.cjs") === exports;
