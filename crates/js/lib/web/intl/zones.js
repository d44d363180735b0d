// Names of time zones in American English: those that CLDR abbreviates for the United States, UTC, and GMT offsets for
// all others. Long names exist for the common zones; others are shown by their offset.

// zone family: [standard short, daylight short, long without the middle word]
const FAMILIES = {
  Eastern: ["EST", "EDT"], Central: ["CST", "CDT"], Mountain: ["MST", "MDT"], Pacific: ["PST", "PDT"], Alaska: ["AKST", "AKDT"], "Hawaii-Aleutian": ["HST", "HDT"],
};
const ZONES = {
  "America/New_York": "Eastern", "America/Detroit": "Eastern", "America/Toronto": "Eastern", "US/Eastern": "Eastern", "America/Chicago": "Central", "America/Winnipeg": "Central",
  "US/Central": "Central", "America/Denver": "Mountain", "America/Phoenix": "Mountain", "America/Boise": "Mountain", "America/Edmonton": "Mountain", "US/Mountain": "Mountain",
  "America/Los_Angeles": "Pacific", "America/Vancouver": "Pacific", "US/Pacific": "Pacific", "America/Anchorage": "Alaska", "Pacific/Honolulu": "Hawaii-Aleutian",
};
const LONG = {
  "Europe/London": ["Greenwich Mean Time", "British Summer Time"], "Asia/Tokyo": ["Japan Standard Time"], "Asia/Kolkata": ["India Standard Time"], "Asia/Calcutta": ["India Standard Time"],
  "Asia/Shanghai": ["China Standard Time"], "Australia/Sydney": ["Australian Eastern Standard Time", "Australian Eastern Daylight Time"], "Asia/Singapore": ["Singapore Standard Time"],
};
for (const zone of ["Berlin", "Paris", "Madrid", "Rome", "Vienna", "Zurich", "Amsterdam", "Brussels", "Stockholm", "Oslo", "Copenhagen", "Prague", "Warsaw", "Budapest"]) {
  LONG[`Europe/${zone}`] = ["Central European Standard Time", "Central European Summer Time"];
}

function gmt(offset, long, always = false) {
  if (offset === 0 && !always) return "GMT";
  const size = Math.abs(Math.trunc(offset));
  const hours = Math.floor(size / 60);
  const minutes = size % 60;
  const sign = offset < 0 ? "-" : "+";
  if (long) return `GMT${sign}${String(hours).padStart(2, "0")}:${String(minutes).padStart(2, "0")}`;
  return `GMT${sign}${hours}${minutes === 0 ? "" : `:${String(minutes).padStart(2, "0")}`}`;
}

export function zoneName(zone, fields, style, offsetOf) {
  const { offset, at } = fields;
  const long = style.startsWith("long");
  if (style.endsWith("Offset")) return gmt(offset, long, true);
  const generic = style.endsWith("Generic");
  if (zone === "UTC") return generic ? "GMT" : long ? "Coordinated Universal Time" : "UTC";
  const family = Object.hasOwn(ZONES, zone) ? ZONES[zone] : undefined;
  const standard = () => {
    const year = new Date(at).getUTCFullYear();
    return Math.min(offsetOf(Date.UTC(year, 0, 1), zone), offsetOf(Date.UTC(year, 6, 1), zone));
  };
  if (family) {
    const daylight = offset > standard();
    if (generic) return long ? `${family} Time` : FAMILIES[family][0][0] + (family === "Alaska" ? "KT" : "T");
    return long ? `${family} ${daylight ? "Daylight" : "Standard"} Time` : FAMILIES[family][daylight ? 1 : 0];
  }
  if (long && Object.hasOwn(LONG, zone)) {
    const names = LONG[zone];
    return names[offset > standard() && names.length > 1 ? 1 : 0];
  }
  return gmt(offset, long);
}
