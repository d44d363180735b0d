// A text out of a fixed set, as a schema that every provider understands.

/** `{ type: "string", enum }` with a description and a default when given. */
export function StringEnum(values, options) {
  const schema = { type: "string", enum: values };
  if (options?.description) schema.description = options.description;
  if (options?.default !== undefined) schema.default = options.default;
  return schema;
}
