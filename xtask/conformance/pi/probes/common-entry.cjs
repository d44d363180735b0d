module.exports = function (pi) { pi.registerCommand("found", { description: "plain CommonJS", handler() {} }); };
