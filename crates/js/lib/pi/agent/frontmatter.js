// Front matter: YAML between two lines of dashes at the start of a text file.
import { parseYaml } from "jackfield:pi/agent/yaml";

function split(content) {
  const text = content.replace(/^\ufeff/, "").replace(/\r\n?/g, "\n");
  const match = /^---[ \t]*\n(?:([\s\S]*?)\n)?---[ \t]*(?:\n|$)/.exec(text);
  if (!match) return { yaml: null, body: text };
  return { yaml: match[1] ?? "", body: text.slice(match[0].length).trim() };
}

/** `{ frontmatter, body }` of a text; no front matter is an empty object. */
export function parseFrontmatter(content) {
  const { yaml, body } = split(content);
  if (yaml === null) return { frontmatter: {}, body };
  return { frontmatter: parseYaml(yaml) ?? {}, body };
}

/** The text without its front matter. */
export function stripFrontmatter(content) {
  return parseFrontmatter(content).body;
}
