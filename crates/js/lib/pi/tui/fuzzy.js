// Fuzzy matching for lists: every letter of the query has to occur in order.
// Lower scores are better: letters in a row and letters at the start of a word
// are rewarded, gaps cost. The numbers are those that pi users' lists are
// ordered by, so that an extension sees the same order here.

const BOUNDARY = /[\s\-_./:]/;

function score(query, text) {
  if (query === "") return 0;
  if (query.length > text.length) return null;
  let total = 0;
  let next = 0;
  let last = -1;
  let streak = 0;
  for (let i = 0; i < text.length && next < query.length; i++) {
    if (text[i] !== query[next]) continue;
    if (i === last + 1) {
      streak += 1;
      total -= streak * 5;
    } else {
      streak = 0;
      if (last >= 0) total += (i - last - 1) * 2;
    }
    if (i === 0 || BOUNDARY.test(text[i - 1])) total -= 10;
    total += i * 0.1;
    last = i;
    next += 1;
  }
  if (next < query.length) return null;
  return query === text ? total - 100 : total;
}

/** Does `query` occur in `text`, letter by letter, and how well. */
export function fuzzyMatch(query, text) {
  const wanted = query.toLowerCase();
  const given = text.toLowerCase();
  const direct = score(wanted, given);
  if (direct !== null) return { matches: true, score: direct };
  // "gpt4" typed as "4gpt" (and the other way round) still finds its entry.
  const swap = /^(?:([a-z]+)([0-9]+)|([0-9]+)([a-z]+))$/.exec(wanted);
  if (swap) {
    const turned = swap[1] === undefined ? swap[4] + swap[3] : swap[2] + swap[1];
    const swapped = score(turned, given);
    if (swapped !== null) return { matches: true, score: swapped + 5 };
  }
  return { matches: false, score: 0 };
}

/** The items that match every word of `query`, best first. */
export function fuzzyFilter(items, query, getText) {
  const words = query.trim().split(/[\s/]+/).filter((word) => word !== "");
  if (words.length === 0) return items;
  const found = [];
  for (const item of items) {
    const text = getText(item);
    let total = 0;
    const every = words.every((word) => {
      const match = fuzzyMatch(word, text);
      total += match.score;
      return match.matches;
    });
    if (every) found.push({ item, total });
  }
  return found.sort((a, b) => a.total - b.total).map((entry) => entry.item);
}
