// The string formats of JSON Schema that are checked. A format that is not listed is never a reason to refuse a value.

const DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

function isDate(text) {
  const parts = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text);
  if (!parts) return false;
  const [year, month, day] = parts.slice(1).map(Number);
  const leap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  return month >= 1 && month <= 12 && day >= 1 && day <= (month === 2 && leap ? 29 : DAYS[month - 1]);
}

function isTime(text) {
  const parts = /^(\d\d):(\d\d):(\d\d)(?:\.\d+)?(?:z|([+-])(\d\d):(\d\d))$/i.exec(text);
  if (!parts) return false;
  const [hour, minute, second] = parts.slice(1, 4).map(Number);
  if (hour > 23 || minute > 59 || second > 60) return false;
  if (parts[4] !== undefined && (Number(parts[5]) > 23 || Number(parts[6]) > 59)) return false;
  if (second < 60) return true;
  const shift = parts[4] === undefined ? 0 : (parts[4] === "-" ? 1 : -1) * (Number(parts[5]) * 60 + Number(parts[6]));
  return (hour * 60 + minute + shift + 2880) % 1440 === 1439;
}

function isDateTime(text) {
  const [date, time, ...more] = text.split(/t|\s/i);
  return more.length === 0 && time !== undefined && isDate(date) && isTime(time);
}

const isIpv4 = (text) => /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/.test(text);

function isIpv6(text) {
  const [head, tail, ...more] = text.split("::");
  if (more.length > 0) return false;
  const groups = (part) => (part === "" || part === undefined ? [] : part.split(":"));
  const all = [...groups(head), ...groups(tail)];
  let count = all.length;
  for (let i = 0; i < all.length; i++) {
    if (i === all.length - 1 && all[i].includes(".")) {
      if (!isIpv4(all[i])) return false;
      count++;
    } else if (!/^[0-9a-f]{1,4}$/i.test(all[i])) return false;
  }
  return tail === undefined ? count === 8 : count < 8;
}

const isHostname = (text) =>
  text.length <= 253 && /^(?!-)[a-z0-9-]{1,63}(?<!-)(?:\.(?!-)[a-z0-9-]{1,63}(?<!-))*$/i.test(text);

function isEmail(text) {
  const at = text.lastIndexOf("@");
  if (at < 1) return false;
  const local = text.slice(0, at);
  return /^[a-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/i.test(local) && isHostname(text.slice(at + 1));
}

const URI_CHARS = /^(?:[-a-z0-9._~:/?#[\]@!$&'()*+,;=]|%[0-9a-f]{2})*$/i;
const isUri = (text) => /^[a-z][a-z0-9+.-]*:[^\s]/i.test(text) && URI_CHARS.test(text);

function isRegex(text) {
  try {
    return new RegExp(text, "u") instanceof RegExp;
  } catch {
    return false;
  }
}

function isUrl(text) {
  try {
    return new URL(text).href !== "";
  } catch {
    return false;
  }
}

const FORMATS = {
  date: isDate,
  time: isTime,
  "date-time": isDateTime,
  duration: (text) => /^P(?!$)(?:\d+W|(?:\d+Y)?(?:\d+M)?(?:\d+D)?(?:T(?=\d)(?:\d+H)?(?:\d+M)?(?:\d+S)?)?)$/.test(text),
  email: isEmail,
  hostname: isHostname,
  ipv4: isIpv4,
  ipv6: isIpv6,
  uri: isUri,
  "uri-reference": (text) => URI_CHARS.test(text),
  url: isUrl,
  uuid: (text) => /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i.test(text),
  regex: isRegex,
  "json-pointer": (text) => /^(?:\/(?:[^~/]|~0|~1)*)*$/.test(text),
  "relative-json-pointer": (text) => /^(?:0|[1-9]\d*)(?:#|(?:\/(?:[^~/]|~0|~1)*)*)$/.test(text),
};

export function formatHolds(name, text) {
  return Object.hasOwn(FORMATS, name) ? FORMATS[name](text) : true;
}
