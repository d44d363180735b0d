import { NoSuchClass } from "@earendil-works/pi-tui"; class Mine extends NoSuchClass {} export default function () { new Mine(); }
