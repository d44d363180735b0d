export default { name: "not a factory" };
